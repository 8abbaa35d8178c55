/**
 * The pages' icons: those of Lucide that they use, as data URIs in custom properties, so that a stylesheet
 * can draw them as masks and a page loads no file for them.
 * `node tools/pictures/icons.ts` rewrites the sheet.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The names that the stylesheets use, each with its name in Lucide. */
const ICONS = {
  owner: "crown",
  moderator: "wrench",
  verified: "badge-check",
  member: "star",
  pinned: "pin",
  poll: "chart-no-axes-column",
  raid: "users",
  summary: "sparkles",
  notice: "info",
  mode: "gauge",
  product: "shopping-bag",
  waiting: "clock",
  failed: "circle-alert",
  menu: "chevron-down",
  copy: "copy",
  copied: "check",
} as const;

export const SHEET = fileURLToPath(new URL("../../web/chat/icons.css", import.meta.url));

const HEAD = `/* Icons of Lucide (https://lucide.dev, ISC licence, see icons.LICENSE), written by tools/pictures/icons.ts. */
@layer design {
  :root {
`;

interface IconSet {
  icons: Record<string, { body: string }>;
}

export function iconSheet(): string {
  const set: IconSet = JSON.parse(
    readFileSync(fileURLToPath(import.meta.resolve("@iconify-json/lucide/icons.json")), "utf8"),
  );
  const lines = Object.entries(ICONS).map(([name, icon]) => {
    const { body } = set.icons[icon] ?? { body: undefined };
    if (body === undefined) throw new Error(`Lucide has no icon ${icon}`);
    return `    --icon-${name}: url("${toDataUri(body)}");\n`;
  });
  return `${HEAD}${lines.join("")}  }\n}\n`;
}

function toDataUri(body: string): string {
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' width='24' height='24' viewBox='0 0 24 24'>${body.replaceAll('"', "'").replaceAll("currentColor", "black")}</svg>`;
  return `data:image/svg+xml,${svg.replace(/[<>#%]/g, encodeURIComponent)}`;
}

if (import.meta.main) writeFileSync(SHEET, iconSheet());
