/** The hosts that serve the upstream's pictures: those of messages are loaded from nowhere else. */

/** As sources of a content security policy: https alone, `*.` for all hosts below one. */
export const PICTURE_HOSTS: readonly string[] = [
  "https://*.ggpht.com",
  "https://*.googleusercontent.com",
  "https://*.ytimg.com",
  "https://*.gstatic.com",
  "https://www.youtube.com",
];

const HOST = new RegExp(
  `^(?:${PICTURE_HOSTS.map((source) => source.slice("https://".length).replaceAll(".", String.raw`\.`).replace("*", ".+")).join("|")})$`,
);

export function isPictureAddress({ protocol, host }: URL): boolean {
  return protocol === "https:" && HOST.test(host);
}
