/**
 * The maximum that is accepted from the upstream: several times what has ever been seen, so that no real data meets a
 * bound, and little enough that a broken upstream costs bounded time and memory.
 */

export const BOUNDS = {
  /** Of one answer, decompressed. Watch pages reach 2 MB; a larger one is an error. */
  answerBytes: 8 * 1024 * 1024,
  /** Things that hold another thing to be read, one in another: reading them takes the stack. Real data has up to 4. */
  holders: 20,
  /** Places in a page where its data could begin. Real pages have one. */
  candidates: 100,
  /** How often a page is read, all those places together. */
  readings: 3,
  /** Actions in one answer or page, the last ones of a page. Real ones hold some hundred; an answer with more is an error. */
  actions: 10_000,
  /** The wait that an answer asks for, in milliseconds; a longer one is this. */
  waitMs: 600_000,

  /** Of what follows, lengths are in UTF-16 units. A real message has up to 200 characters. */
  messageLength: 10_000,
  parts: 500,
  /** How much longer a message's addresses together may be than its text: two hundred emojis have 30,000. */
  addressesPerText: 5,
  addressLength: 2048,
  /** Names, labels and headers. */
  wordsLength: 500,
  /** The upstream's words about an error or a video, which are passed on to callers. */
  reasonLength: 200,
  /** What has a longer id counts as broken. */
  idLength: 500,
  /** Nobody has been seen with more than three. */
  badges: 10,
  questionLength: 500,
  /** Creators can offer up to five. */
  choices: 20,
  /** Polls open at a time. A chat shows one; of more, which were never closed, the oldest are forgotten. */
  panels: 20,
} as const;
