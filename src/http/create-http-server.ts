/**
 * Node's HTTP server. An `import` of `node:http` reads all that it exports, and so loads Node's own `fetch`
 * and `WebSocket`, which takes 14 MB.
 */
export const { createServer: createHttpServer } = process.getBuiltinModule("node:http");
