/** What a screen reader is given of a page: Chromium's accessibility tree. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";

/** Nodes of the tree that say nothing by themselves. */
const SILENT = new Set(["none", "generic", "InlineTextBox"]);
/** States that a screen reader says, or that decide when it does; `live` and its like are of live regions. */
const STATES = ["live", "relevant", "modal", "pressed", "expanded", "checked", "selected"];

interface Value {
  value?: unknown;
}
interface AxNode {
  nodeId: string;
  ignored: boolean;
  role?: Value;
  name?: Value;
  properties?: { name: string; value: Value }[];
  childIds?: string[];
  backendDOMNodeId?: number;
}

/**
 * The tree of an element as an outline: a line for each node, with its role, name and states. Text that is
 * part of a name above it is left out.
 */
export async function treeOf(page: Page, selector: string): Promise<string> {
  const devtools = await page.context().newCDPSession(page);
  const { result } = await devtools.send("Runtime.evaluate", {
    expression: `document.querySelector(${JSON.stringify(selector)})`,
  });
  const { node } = await devtools.send("DOM.describeNode", { objectId: result.objectId ?? "" });
  const { nodes }: { nodes: AxNode[] } = await devtools.send("Accessibility.getFullAXTree");
  await devtools.detach();
  const byId = new Map(nodes.map((each) => [each.nodeId, each]));
  const lines = (each: AxNode, depth: number, above: string): string[] => {
    const name = String(each.name?.value ?? "").trim();
    const isSilent = each.ignored || SILENT.has(roleOf(each)) || isRepeated(each, name, above);
    const own = isSilent ? [] : [`${"  ".repeat(depth)}${describe(each, name)}`];
    const children = (each.childIds ?? []).map((id) => byId.get(id)).filter((child) => child !== undefined);
    const next = isSilent ? depth : depth + 1;
    return [...own, ...children.flatMap((child) => lines(child, next, isSilent ? above : above + name))];
  };
  const root = nodes.find(({ backendDOMNodeId }) => backendDOMNodeId === node.backendNodeId);
  assert.ok(root, `${selector} is not in the accessibility tree`);
  return lines(root, 0, "").join("\n");
}

function roleOf({ role }: AxNode): string {
  return String(role?.value);
}

function isRepeated(node: AxNode, name: string, above: string): boolean {
  return roleOf(node) === "StaticText" && above.includes(name);
}

function describe(node: AxNode, name: string): string {
  const states = STATES.flatMap((state) => {
    const value = node.properties?.find((each) => each.name === state)?.value.value;
    return value === undefined || value === "" ? [] : [`${state}=${value}`];
  });
  return [roleOf(node), ...(name ? [JSON.stringify(name)] : []), ...states].join(" ");
}
