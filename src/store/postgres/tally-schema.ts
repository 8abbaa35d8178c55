/**
 * The tables of the rooms' totals. A tally is stored under `born` (base minus shift). `born` survives a
 * move of cursors, because base and shift both move. A later room of the same video has another.
 */
export const TALLIES = `create table tally (
    video_id text collate "C" not null,
    born bigint not null,
    cursor bigint not null,
    totals text not null,
    primary key (video_id, born)
  ) with (fillfactor = 50);

  create table tally_item (
    video_id text collate "C" not null,
    born bigint not null,
    key text collate "C" not null,
    author text collate "C",
    first text collate "C",
    payment text,
    authors text,
    primary key (video_id, born, key)
  );
  alter table tally_item alter column authors set storage external;
  create index tally_item_author on tally_item (video_id, born, author) where author is not null;
  create index tally_item_first on tally_item (video_id, born, first) where first is not null;`;
