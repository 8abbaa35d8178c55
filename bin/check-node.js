/**
 * Ends the process with one line where Node.js is too old for the service. Plain JavaScript that imports nothing else
 * of the project, so that an old Node.js gets as far as this.
 */
import { readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const [minimum] = /\d+/.exec(engines.node);
const { node: version } = process.versions;

if (Number.parseInt(version, 10) < Number(minimum)) {
  process.stderr.write(
    `livechat-relay: Node.js ${version} is too old: ${minimum} or newer is needed. Install one; in a checkout, a plain npm ci installs one for the npm scripts.\n`,
  );
  process.exit(1);
}
