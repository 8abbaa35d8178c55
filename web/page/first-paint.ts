/**
 * Sets the theme before the browser draws anything, and whether there is a chat: the page's own script comes
 * after the first paint, and another theme, or the first page, would flash until then.
 */
import { remembered, THEMES } from "./remembered.ts";

const query = new URLSearchParams(location.search);
const { dataset } = document.documentElement;
if (["videoId", "videoIds", "channel"].some((name) => query.get(name))) dataset.state = "connecting";
dataset.theme =
  [query.get("theme"), remembered("theme")].find((theme) => THEMES.some((each) => each === theme)) ?? "auto";
