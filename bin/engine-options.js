/**
 * Options of the engine. With the first, its heap grows by a half before it collects: a flood then adds half as much as
 * by default, for somewhat more CPU while much is allocated. With the second, collections do not drop the compiled code
 * of functions that have rested, which the next wave of viewers needs. With the third, the engine waits a minute, and
 * not eight quiet seconds, before it collects to give memory back. They must be set before any module of the service is
 * loaded, as compiled code is kept only for the same options.
 */

/** The first version of Node.js that has the last option. */
const DELAY_SINCE = 26;

export const ENGINE_OPTIONS = [
  "--heap-growing-percent=50",
  "--no-flush-bytecode",
  ...(Number.parseInt(process.versions.node, 10) >= DELAY_SINCE ? ["--memory-reducer-delay-ms=60000"] : []),
];
