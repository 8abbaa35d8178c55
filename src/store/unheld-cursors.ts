/**
 * How far a room of a restored store moves beyond its head if the clock is no measure of how many cursors
 * clients hold, as it is before the room's beginning or its last message: more than any chat has between a
 * backup and its restore.
 */
export const UNHELD = 10_000_000_000;
