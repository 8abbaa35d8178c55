/**
 * URLs as the upstream writes them: relative to a scheme or to its own host, wrapped into its redirect, or
 * split into the fields of an endpoint. The results are absolute http(s) URLs, or undefined.
 */

import { asArray, asNumber, asObject, asString, dig } from "../../json.ts";
import { BOUNDS } from "../bounds.ts";

/** The usual format, which almost all URLs have: a match needs no parser. */
const PLAIN_ADDRESS = /^https:\/\/(?:(?!xn--)[a-z\d-]+\.)+[a-z]{2,}\/[\w\-./=?&%+,:;@~]*$/;

const UPSTREAM_SITE = "https://www.youtube.com";

/** The URL made absolute, otherwise unchanged; undefined if it is invalid, too long, or of another scheme. */
export function webAddress(value: unknown): string | undefined {
  const text = asString(value);
  if (text === undefined || text.length > BOUNDS.addressLength) return undefined;
  const absolute = text.startsWith("//")
    ? `https:${text}`
    : text.startsWith("/")
      ? UPSTREAM_SITE + text
      : text;
  if (PLAIN_ADDRESS.test(absolute)) return absolute;
  return /^https?:\/\/[^\s"<>\\]+$/i.test(absolute) && URL.canParse(absolute) ? absolute : undefined;
}

/** The target of a run's `navigationEndpoint`, without the upstream's redirect. */
export function linkAddress(endpoint: unknown): string | undefined {
  const address =
    webAddress(dig(endpoint, "urlEndpoint", "url")) ??
    webAddress(dig(endpoint, "commandMetadata", "webCommandMetadata", "url")) ??
    watchAddress(asString(dig(endpoint, "watchEndpoint", "videoId"))) ??
    webAddress(dig(endpoint, "browseEndpoint", "canonicalBaseUrl")) ??
    channelAddress(asString(dig(endpoint, "browseEndpoint", "browseId")));
  return address === undefined ? undefined : redirectTarget(address);
}

/** The URL of an image's largest size: `thumbnails` of a renderer, `sources` of a view model. */
export function imageAddress(image: unknown): string | undefined {
  const forms = asArray(asObject(image)?.thumbnails) ?? asArray(asObject(image)?.sources) ?? [];
  let largest: unknown;
  let width = 0;
  for (const form of forms) {
    const formWidth = widthOf(form);
    if (formWidth < width) continue; // of two with equal width, the last one counts
    largest = form;
    width = formWidth;
  }
  return addressOf(largest) ?? forms.toReversed().sort(byWidth).map(addressOf).find(Boolean);
}

const widthOf = (form: unknown) => Math.max(0, asNumber(asObject(form)?.width) ?? 0);
const addressOf = (form: unknown) => webAddress(asObject(form)?.url);
const byWidth = (a: unknown, b: unknown) => widthOf(b) - widthOf(a);

function redirectTarget(address: string): string {
  const { hostname, pathname, searchParams } = new URL(address);
  if (pathname !== "/redirect" || !/(?:^|\.)youtube\.com$/.test(hostname)) return address;
  const target = searchParams.get("q");
  return target?.startsWith("/") ? address : (webAddress(target) ?? address);
}

function watchAddress(videoId: string | undefined): string | undefined {
  return videoId === undefined ? undefined : webAddress(`/watch?v=${videoId}`);
}

function channelAddress(browseId: string | undefined): string | undefined {
  return browseId?.startsWith("UC") ? webAddress(`/channel/${browseId}`) : undefined;
}
