/**
 * How far a room of a restored store moves beyond its head if the clock is before the room's beginning or its
 * last message, so that it does not measure how many cursors clients hold: more than the messages of any chat
 * between a backup and its restore.
 */
export const UNHELD = 10_000_000_000;
