/** Makes a promise abortable. No listener outlives its work. */

/** Settles like `work`, or rejects with the signal's reason as soon as it aborts. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}
