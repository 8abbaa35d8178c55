/** The kinds of stores, by the URLs that name them. Only `open.ts` knows how each is opened. */
const FORMS = {
  memory: /^memory:$/,
  file: /^sqlite:(.+)$/s,
  /** Several instances can share it. */
  shared: /^postgres(?:ql)?:\/\//,
} as const;

type StoreKind = keyof typeof FORMS;

/** The kind of the store that a URL names; undefined for any other text. */
export function storeKind(url: string): StoreKind | undefined {
  const kinds = Object.keys(FORMS) as StoreKind[];
  return kinds.find((kind) => FORMS[kind].test(url));
}

/** The path in `sqlite:<path>`; undefined for any other URL. */
export function filePath(url: string): string | undefined {
  return FORMS.file.exec(url)?.[1];
}
