/**
 * Totals and items as stores keep them. They are read strictly: a room whose totals are damaged is counted
 * again.
 */
import { asObject, dig, parseJson } from "../base/json.ts";
import { marksIn } from "./author-blocks.ts";
import {
  addBatch,
  isWholeNumber,
  NO_TOTALS,
  readPayment,
  type TallyBatch,
  type TallyItem,
  type Totals,
} from "./totals.ts";

/** Totals as stored: JSON text, or null before the first count. Undefined if they cannot be read. */
function readTotals(stored: string | null): Totals | undefined {
  if (stored === null) return NO_TOTALS;
  const totals = asObject(parseJson(stored));
  const sums = [totals?.paid, totals?.deleted].flatMap((of) => Object.values(asObject(of) ?? { totals }));
  const isReadable =
    Object.values(asObject(totals?.types) ?? { totals }).every(isCount) &&
    sums.every((sum) => isCount(dig(sum, "count")) && isWholeNumber(dig(sum, "thousandths"))) &&
    [totals?.unreadable, totals?.deletedPaid, totals?.memberships, totals?.authors].every(isCount) &&
    [totals?.firstAt, totals?.lastAt].every((at) => at === null || Number.isFinite(at));
  return isReadable ? (totals as unknown as Totals) : undefined;
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** An account with its totals read. Totals that cannot be read count nothing, until the next count. */
export function withTotals<Row extends { totals: string | null; uncounted: number; kept: number }>({
  totals: stored,
  uncounted,
  kept,
  ...room
}: Row): Omit<Row, "totals" | "uncounted" | "kept"> & { totals: Totals; uncounted: number } {
  const totals = readTotals(stored);
  return totals ? { ...room, totals, uncounted } : { ...room, totals: NO_TOTALS, uncounted: kept };
}

/**
 * The totals with the batch, and the items to store. `stored` and `held`: the totals, and those items of the
 * batch that are stored. Undefined if one of them cannot be read: then all must be counted again.
 */
export function addBatchToStored(
  stored: string | null,
  batch: TallyBatch,
  held: readonly TallyItem[],
): { totals: Totals; items: TallyItem[] } | undefined {
  const totals = readTotals(stored);
  return totals && held.every(isSoundItem) ? addBatch(totals, batch, held) : undefined;
}

function isSoundItem({ payment, authors }: TallyItem): boolean {
  return (
    (payment === null || readPayment(payment) !== undefined) &&
    (authors === null || marksIn(authors) !== undefined)
  );
}
