/**
 * An answer of the upstream without what people have written and without what identifies anybody: the form
 * of its data, in which every text is `…`. It keeps names of fields, numbers, truth values, and the texts of
 * a few fields that only the upstream's programs write, if they have the form of such a word.
 */
import { asObject, parseJson } from "../../base/json.ts";
import { assignedObjects } from "../../upstream/page/script-object.ts";

/** A field whose text stays, and the form that it must have. */
const KEPT: Readonly<Record<string, RegExp>> = {
  status: /^[A-Z_]{2,40}$/,
  iconType: /^[A-Z_]{2,60}$/,
  clientName: /^[A-Z_]{2,40}$/,
  clientVersion: /^\d[\d.]{0,39}$/,
};
/** The name of a field. Ids, which are keys of some objects, have more digits. */
const FIELD = /^[A-Za-z_$][A-Za-z_$-]{0,79}\d{0,2}$/;
/** What the service looks for in scripts. */
const SETTINGS = [
  ...["INNERTUBE_API_KEY", "INNERTUBE_CLIENT_VERSION", "INNERTUBE_CONTEXT_CLIENT_VERSION"],
  ...["VISITOR_DATA", "visitorData"],
];
/** The beginning of a script: the name that it assigns to or calls. */
const LEAD = /^\s*(?:var\s+|let\s+|const\s+|window\[\s*["'])?([A-Za-z_$][\w$.]{0,40})(?=["'\]\s]*[=(])/;
const HIDDEN = "…";

/** The form of a body, by its content: JSON, a page, or a script. */
export function reducedBody(text: string): unknown {
  const json = parseJson(text.replace(/^\)\]\}'/, ""));
  if (json !== undefined) return reduced(json, "");
  const settings = SETTINGS.filter((name) => text.includes(name));
  if (!/^\s*</.test(text)) return { script: { settings } };
  const scripts = [...text.matchAll(/<script\b[^>]*>(.*?)<\/script/gs)].map(
    ([, code = ""]) => LEAD.exec(code)?.[1] ?? HIDDEN,
  );
  const objects = [...assignedObjects(text)].map(({ name, object }) => ({ [name]: reduced(object, "") }));
  return { page: { settings, scripts, objects } };
}

function reduced(value: unknown, field: string): unknown {
  if (typeof value === "string") return KEPT[field]?.test(value) ? value : HIDDEN;
  if (Array.isArray(value)) return reducedList(value);
  const object = asObject(value);
  if (!object) return value;
  return Object.fromEntries(
    Object.entries(object).map(([name, held]) => [FIELD.test(name) ? name : HIDDEN, reduced(held, name)]),
  );
}

/** Objects that differ at most in numbers are in it once, with their count; all else keeps its place. */
function reducedList(list: readonly unknown[]): unknown[] {
  const forms = new Map<string, { form: unknown; count: number }>();
  for (const [index, item] of list.entries()) {
    const form = reduced(item, "");
    const key = asObject(item) ? JSON.stringify(form, withoutNumber) : `${index}`;
    const known = forms.get(key);
    if (known) known.count += 1;
    else forms.set(key, { form, count: 1 });
  }
  return [...forms.values()].map(({ form, count }) => (count === 1 ? form : { times: count, form }));
}

function withoutNumber(_name: string, value: unknown): unknown {
  return typeof value === "number" ? 0 : value;
}
