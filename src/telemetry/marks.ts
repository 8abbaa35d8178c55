/**
 * Names of rarely taken code paths in reading and owning a room. The service does not count them. The
 * simulation checks that its seeds reach each, because a path that no seed reaches is not tested.
 */
export const MARKS = [
  "append: outcome unknown",
  "append: had happened all the same",
  "append: room was finished all the same",
  "append: holds some of it already",
  "gap: shown",
  "gap: disproved",
  "gap: waits for a message",
  "pages: a mute one is a part of the next",
  "pages: join",
  "pages: do not join",
  "answer: behind a mute page, with a gap",
  "answer: behind a mute page, without a gap",
  "answer: does not join its page",
  "poll: lease not proved",
  "poll: token lost twice",
  "poll: answer without chat",
  "poll: room given up",
  "late: completed from its page",
  "late: page not given",
  "quiet: page not given",
  "quiet: nothing new",
  "move: live chat needs a page",
  "move: replay goes on",
  "pages: stored alone",
  "room: checkpoint unreadable",
  "room: memory unreadable",
  "room: read by another one meanwhile",
  "room: fenced while it is read",
  "room: fenced after it was handed on",
  "release: not stored",
  "take-over: store fails",
  "take-over: another one was first",
] as const;

type Mark = (typeof MARKS)[number];

/** Called when a branch is taken. */
export type Marker = (mark: Mark) => void;
