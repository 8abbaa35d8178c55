/** Endpoints that have no bodies: a body that a client sends all the same, of whatever type, is ignored. */
import type { FastifyInstance } from "fastify";

/** `routes`: adds such endpoints to the instance that it is given, which is their own. */
export function ignoreBodies(app: FastifyInstance, routes: (own: FastifyInstance) => void): void {
  app.register((own, _options, done) => {
    own.removeAllContentTypeParsers();
    own.addContentTypeParser("*", (_request, body, done) => {
      body.resume(); // an unread one would hold back the next request of the connection
      done(null);
    });
    routes(own);
    done();
  });
}
