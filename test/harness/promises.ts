/**
 * What every run holds the service to. The judges of the simulation, of chaos and of the cluster report each
 * violation by the name of its promise, and a mutant names the promise whose judge must catch it.
 */
export const PROMISES = {
  access: "A token opens what it gives while it is valid; nobody else gets anything that is not public.",
  delivery: "Viewers stay connected, and once all is calm, everything has come to everybody in time.",
  gate: "Calls of an address keep its spacing, its concurrency, its cooldowns and the intervals of polls.",
  health: "Nothing fails, ends or is logged as an error that no fault explains.",
  log: "Messages are durable before anybody is sent them; a log has each once, in order, or a gap for it.",
  neighbours: "Trouble of one chat or client refuses, delays or displaces no other one.",
  pages: "Few pages are loaded: a room goes on from its checkpoint.",
  poller: "Its owner alone polls a chat and stores its messages, one call at a time; an edge has one stream.",
  readiness: "Readiness tells whether the service can serve.",
  reading: "A watched chat is read by an instance that can read it; one that nobody watches is released.",
  retention: "A wrong clock deletes nothing.",
  stop: "A stop ends in time and in order, and every stream with it.",
  stream: "A client is sent what follows its cursor, as stored, once and in order, until the chat is over.",
  totals: "The totals of a chat count each of its messages once.",
} as const;

/** The name of a promise. */
export type Promised = keyof typeof PROMISES;

/** The name under which a violation is reported: "run" if the run itself failed, not the service. */
export type Reported = Promised | "run";
