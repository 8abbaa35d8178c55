/**
 * Web addresses as the upstream writes them: relative to a scheme or to its own host, wrapped into its
 * redirect, or taken apart into an endpoint. What comes out is absolute http(s), or undefined.
 */

import { asArray, asNumber, asObject, asString, dig } from "../../json.ts";
import { BOUNDS } from "../bounds.ts";

/** An address of the usual form, which needs no parser to be found good: almost all are. */
const PLAIN_ADDRESS = /^https:\/\/(?:(?!xn--)[a-z\d-]+\.)+[a-z]{2,}\/[\w\-./=?&%+,:;@~]*$/;

const UPSTREAM_SITE = "https://www.youtube.com";

/** Made absolute, otherwise as it stands; undefined if it is not an address, too long, or of another scheme. */
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

/** Where a run's `navigationEndpoint` leads, freed from the upstream's redirect. */
export function linkAddress(endpoint: unknown): string | undefined {
  const address =
    webAddress(dig(endpoint, "urlEndpoint", "url")) ??
    webAddress(dig(endpoint, "commandMetadata", "webCommandMetadata", "url")) ??
    watchAddress(asString(dig(endpoint, "watchEndpoint", "videoId"))) ??
    webAddress(dig(endpoint, "browseEndpoint", "canonicalBaseUrl")) ??
    channelAddress(asString(dig(endpoint, "browseEndpoint", "browseId")));
  return address === undefined ? undefined : redirectTarget(address);
}

/** The address of the largest of an image's forms: `thumbnails` of a renderer, `sources` of a view model. */
export function imageAddress(image: unknown): string | undefined {
  const forms = asArray(asObject(image)?.thumbnails) ?? asArray(asObject(image)?.sources) ?? [];
  let largest: unknown;
  let width = 0;
  for (const form of forms) {
    const formWidth = widthOf(form);
    if (formWidth < width) continue; // of two as large the last one counts
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
