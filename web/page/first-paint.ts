/**
 * Sets the theme before the browser draws anything: the page's own script comes after the first paint, and
 * another theme would flash until then.
 */
import { remembered, THEMES } from "./remembered.ts";

const named = new URLSearchParams(location.search).get("theme");
document.documentElement.dataset.theme =
  [named, remembered("theme")].find((theme) => THEMES.some((each) => each === theme)) ?? "auto";
