/**
 * Notices a service that hangs: it sends each stream a keepalive in time, so a stream that was there and then
 * has no byte for longer is dead. Only the SDK bounds the time to the first byte: an opening may take longer,
 * and the SDK must notice a network that holds whole streams back.
 */
const USUAL_MS = 15_000;
/** How much later a keepalive may come: the service checks once a second, and networks take time. */
const SPARE_MS = 1500;

/** After how many milliseconds without a byte a stream is dead, by the keepalives that the document names. */
export function silentMs(): number {
  const { content = "" } = document.querySelector<HTMLMetaElement>("meta[name=keepalive-ms]") ?? {};
  return Math.max(USUAL_MS, Number(content)) + SPARE_MS;
}

/** `fetch` whose answer fails once no byte of it has come for this many milliseconds after another. */
export function watchfulFetch(silentMs: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const watched = new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) => {
        clearTimeout(timer);
        timer = setTimeout(() => controller.error(new Error("no keepalive")), silentMs);
        controller.enqueue(bytes);
      },
      flush: () => clearTimeout(timer),
    });
    return new Response(response.body?.pipeThrough(watched), response);
  };
}
