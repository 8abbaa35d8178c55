/**
 * URLs as the upstream writes them: relative to a scheme or to its own host, wrapped into its redirect, or
 * split into the fields of an endpoint. The results are absolute http(s) URLs, or undefined.
 */

import { asArray, asNumber, asObject, asString, dig } from "../../base/json.ts";
import { BOUNDS } from "../bounds.ts";

/** The usual format, which almost all URLs have: a match needs no parser. */
const PLAIN_URL = /^https:\/\/(?:(?!xn--)[a-z\d-]+\.)+[a-z]{2,}\/[\w\-./=?&%+,:;@~]*$/;

const UPSTREAM_SITE = "https://www.youtube.com";

/** The URL made absolute, otherwise unchanged; undefined if it is invalid, too long, or of another scheme. */
export function webUrl(value: unknown): string | undefined {
  const text = asString(value);
  if (text === undefined || text.length > BOUNDS.urlLength) return undefined;
  const absolute = text.startsWith("//")
    ? `https:${text}`
    : text.startsWith("/")
      ? UPSTREAM_SITE + text
      : text;
  if (PLAIN_URL.test(absolute)) return absolute;
  return /^https?:\/\/[^\s"<>\\]+$/i.test(absolute) && URL.canParse(absolute) ? absolute : undefined;
}

/** The target of a run's `navigationEndpoint`, without the upstream's redirect. */
export function linkUrl(endpoint: unknown): string | undefined {
  const url =
    webUrl(dig(endpoint, "urlEndpoint", "url")) ??
    webUrl(dig(endpoint, "commandMetadata", "webCommandMetadata", "url")) ??
    watchUrl(asString(dig(endpoint, "watchEndpoint", "videoId"))) ??
    webUrl(dig(endpoint, "browseEndpoint", "canonicalBaseUrl")) ??
    channelUrl(asString(dig(endpoint, "browseEndpoint", "browseId")));
  return url === undefined ? undefined : redirectTarget(url);
}

/** The URL of an image's largest size: `thumbnails` of a renderer, `sources` of a view model. */
export function imageUrl(image: unknown): string | undefined {
  const forms = asArray(asObject(image)?.thumbnails) ?? asArray(asObject(image)?.sources) ?? [];
  let largest: unknown;
  let width = 0;
  for (const form of forms) {
    const formWidth = widthOf(form);
    if (formWidth < width) continue; // of two with equal width, the last one counts
    largest = form;
    width = formWidth;
  }
  return urlOf(largest) ?? forms.toReversed().sort(byWidth).map(urlOf).find(Boolean);
}

const widthOf = (form: unknown) => Math.max(0, asNumber(asObject(form)?.width) ?? 0);
const urlOf = (form: unknown) => webUrl(asObject(form)?.url);
const byWidth = (a: unknown, b: unknown) => widthOf(b) - widthOf(a);

function redirectTarget(url: string): string {
  const { hostname, pathname, searchParams } = new URL(url);
  if (pathname !== "/redirect" || !/(?:^|\.)youtube\.com$/.test(hostname)) return url;
  const target = searchParams.get("q");
  return target?.startsWith("/") ? url : (webUrl(target) ?? url);
}

function watchUrl(videoId: string | undefined): string | undefined {
  return videoId === undefined ? undefined : webUrl(`/watch?v=${videoId}`);
}

function channelUrl(browseId: string | undefined): string | undefined {
  return browseId?.startsWith("UC") ? webUrl(`/channel/${browseId}`) : undefined;
}
