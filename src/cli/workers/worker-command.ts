/**
 * The first argument of the one executable file when it is started as a worker. People have no use for
 * it.
 */
export const WORKER_COMMAND = "worker-of-this-service";
