/**
 * Measures how many rooms one or several addresses read, for a given number of requested rooms, and the
 * maximum lateness of polls, in virtual time. Prints the tables of docs/operations.md.
 *
 *     npm run simulate -- sweep [--minutes 3] [--spacing 250] [--egresses 1]
 */
import { commandLine } from "../chaos/command-line.ts";
import { type Carried, carry } from "./carry.ts";

const { values } = commandLine({
  options: {
    minutes: { type: "string", default: "3" },
    spacing: { type: "string", default: "250" },
    egresses: { type: "string", default: "1" },
  },
});

const COUNTS = [1, 8, 16, 20, 24, 28, 32, 50, 100, 200, 500];
/** The intervals that the upstream asks for, in milliseconds, by name. */
const CHATS = { "2 s": [2000], "5 s": [5000], "10 s": [10_000], mixed: [2000, 5000, 10_000, 10_000] };
/** The time in which the viewers of all rooms arrive, in milliseconds. */
const ARRIVALS = { "at once": 1, "within 2 minutes": 120_000 };

const columns = ["asked every", "come", ...COUNTS, "median lateness", "largest lateness", "lost", "gaps"];
process.stdout.write(`| ${columns.join(" | ")} |\n|${"---|".repeat(columns.length)}\n`);
let isBroken = false;
for (const [interval, timeoutsMs] of Object.entries(CHATS)) {
  for (const [come, arrivalMs] of Object.entries(ARRIVALS)) {
    const runs: Carried[] = [];
    for (const rooms of COUNTS) {
      const settings = { RELAY_GATE_SPACING_MS: values.spacing };
      const forMs = Number(values.minutes) * 60_000;
      const egresses = Number(values.egresses);
      const run = await carry({ seed: 1, rooms, timeoutsMs, arrivalMs, forMs, settings, egresses });
      isBroken ||= run.lost + run.gaps > 0 || run.open + run.refused !== rooms;
      runs.push(run);
    }
    const largest = (pick: (run: Carried) => number) => Math.round(Math.max(...runs.map(pick)));
    const row = [
      interval,
      come,
      ...runs.map(({ open }) => open),
      `${largest(({ lateness }) => lateness.median)} ms`,
      `${largest(({ lateness }) => lateness.largest)} ms`,
      largest(({ lost }) => lost),
      largest(({ gaps }) => gaps),
    ];
    process.stdout.write(`| ${row.join(" | ")} |\n`);
  }
}
if (isBroken)
  process.stdout.write(
    "\nBROKEN: something was lost or a gap written, or a room was neither read nor refused\n",
  );
process.exitCode = isBroken ? 1 : 0;
