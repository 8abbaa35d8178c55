/** `fetch` for streams with parameters that the SDK has no option for, such as `featured=on`. */
export function streamFetch(parameters: string, own: typeof fetch = fetch): typeof fetch {
  return (input, init) => {
    const isStream = /\/v1\/(?:stream|merged)\?/.test(`${input}`);
    return own(isStream ? `${input}&${parameters}` : input, init);
  };
}
