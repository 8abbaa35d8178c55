/**
 * The load scenarios from the command line: each runs the service under one kind of pressure, prints what it
 * measured, and fails with a plain sentence for each promise that was broken.
 *
 *     npm run chaos -- load storm --viewers 5000 --restart
 */
import { commandLine } from "../command-line.ts";
import { churn } from "./churn.ts";
import { Report } from "./report.ts";
import { type LoadOptions, Stage } from "./stage.ts";
import { stop } from "./stop.ts";
import { storm } from "./storm.ts";

type Scenario = (stage: Stage, report: Report, options: LoadOptions) => Promise<void>;

const SCENARIOS: Record<string, { play: Scenario; viewers: number; what: string }> = {
  storm: {
    play: storm,
    viewers: 5000,
    what: "all viewers are cut and come back within a second [--places N] [--restart]",
  },
  stop: { play: stop, viewers: 5000, what: "the service is told to stop [--stuck N of them take nothing]" },
  churn: { play: churn, viewers: 500, what: "viewers that come and go without end, some of them badly" },
};

const { positionals, values } = commandLine({
  allowPositionals: true,
  options: {
    viewers: { type: "string" },
    places: { type: "string", default: "20" },
    stuck: { type: "string", default: "0" },
    restart: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const scenario = SCENARIOS[positionals[0] ?? ""];
const options = {
  viewers: Number(values.viewers ?? scenario?.viewers),
  places: Number(values.places),
  stuck: Number(values.stuck),
  restart: values.restart,
};
if (scenario && options.viewers > 0 && options.places > 0 && options.stuck >= 0) {
  const report = new Report();
  try {
    await using stage = await Stage.open();
    await scenario.play(stage, report, options);
  } catch (error) {
    report.promise(false, `the scenario could not go on: ${error instanceof Error ? error.message : error}`);
  }
  process.stdout.write(`${values.json ? JSON.stringify(report, null, 2) : report}\n`);
  process.exitCode = report.isGood ? 0 : 1;
} else {
  const lines = Object.entries(SCENARIOS).map(([name, { what }]) => `  ${name.padEnd(6)} ${what}`);
  process.stderr.write(`usage: load <scenario> [--viewers N] [--json]\n${lines.join("\n")}\n`);
  process.exitCode = 2;
}
