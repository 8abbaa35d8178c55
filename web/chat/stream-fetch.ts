/** `fetch` for streams that also say which message a moderator features; the SDK itself does not ask for it. */
export function fetchFeatured(own: typeof fetch = fetch): typeof fetch {
  return (input, init) => {
    const isStream = /\/v1\/(?:stream|merged)\?/.test(`${input}`);
    return own(isStream ? `${input}&featured=on` : input, init);
  };
}
