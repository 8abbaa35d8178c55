/** Schema steps, taken back: for tests that make a store of an earlier schema from one of today's. */

const COLUMNS = {
  room: ["is_kept", "video", "featured_id", "featured_at"],
  message: ["said", "offset_ms"],
};

/** SQL for either store: the columns that later steps have added to the first schema's. */
export const UNDO_LAST_STEPS = Object.entries(COLUMNS)
  .flatMap(([table, names]) => names.map((name) => `alter table ${table} drop column ${name}`))
  .join("; ");
