/**
 * Web addresses as the upstream writes them: relative to a scheme or to its own host, wrapped into its
 * redirect, or taken apart into an endpoint. What comes out is absolute http(s), or undefined.
 */

import { asArray, asNumber, asObject, asString, dig } from "../../json.ts";
import { BOUNDS } from "../bounds.ts";

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
  let largest: { url: string; width: number } | undefined;
  for (const form of asArray(dig(image, "thumbnails")) ?? asArray(dig(image, "sources")) ?? []) {
    const url = webAddress(dig(asObject(form), "url"));
    const width = asNumber(dig(form, "width")) ?? 0;
    if (url !== undefined && width >= (largest?.width ?? 0)) largest = { url, width };
  }
  return largest?.url;
}

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
