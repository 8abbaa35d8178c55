/** Texts that become markup, style, an address or a script if they are not treated as text. */

const CALL = "window.pwned=1";

const MARKUP = [
  `<script>${CALL}</script>`,
  `</script><script>${CALL}</script>`,
  `<img src=x onerror=${CALL}>`,
  `<svg onload=${CALL}>`,
  `<svg><script>${CALL}</script></svg>`,
  `<math><mtext></mtext><mglyph><style></math><img src=x onerror=${CALL}>`,
  `<body onload=${CALL}>`,
  `<iframe srcdoc="<script>parent.pwned=1</script>">`,
  `<iframe src="javascript:parent.pwned=1">`,
  `<a href="javascript:${CALL}">x</a>`,
  `<base href="https://evil.example/">`,
  `<meta http-equiv="refresh" content="0;url=javascript:${CALL}">`,
  `<link rel=stylesheet href="https://evil.example/x.css">`,
  `<style>*{background:url(https://evil.example/)}</style>`,
  `<object data="javascript:${CALL}">`,
  `<embed src="javascript:${CALL}">`,
  `<form action="javascript:${CALL}"><button>x</button></form>`,
  `<details open ontoggle=${CALL}>`,
  `<video><source onerror=${CALL}></video>`,
  `<template><img src=x onerror=${CALL}></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${CALL}>">`,
  `<!--><img src=x onerror=${CALL}>-->`,
  `<![CDATA[<img src=x onerror=${CALL}>]]>`,
  `<x onclick=${CALL} style=position:fixed;inset:0>x</x>`,
  `<input autofocus onfocus=${CALL}>`,
  `&lt;img src=x onerror=${CALL}&gt;`,
  `&#60;img src=x onerror=${CALL}&#62;`,
  `\u003cimg src=x onerror=${CALL}\u003e`,
  `＜img src=x onerror=${CALL}＞`,
];
const OUT_OF_ATTRIBUTES = [
  `" onmouseover="${CALL}`,
  `' onmouseover='${CALL}`,
  `" autofocus onfocus="${CALL}" x="`,
  `"><script>${CALL}</script>`,
  `'><img src=x onerror=${CALL}>`,
  `" style="background:url(https://evil.example/)`,
  `"] { background: url(https://evil.example/) } [x="`,
  `\\"; ${CALL}; //`,
  `\`;${CALL};//`,
  `\${${CALL}}`,
  `{{constructor.constructor('${CALL}')()}}`,
  `__proto__`,
  `constructor`,
  `hasOwnProperty`,
];
const ADDRESSES = [
  `javascript:${CALL}`,
  `JaVaScRiPt:${CALL}`,
  ` javascript:${CALL}`,
  `java\tscript:${CALL}`,
  `java\nscript:${CALL}`,
  `\u0001javascript:${CALL}`,
  `data:text/html,<script>${CALL}</script>`,
  `data:image/svg+xml,<svg onload="${CALL}"/>`,
  `vbscript:${CALL}`,
  `blob:https://evil.example/x`,
  `file:///etc/passwd`,
  `//evil.example/x`,
  `https://evil.example/x.png`,
  `https://yt3.ggpht.com@evil.example/x.png`,
  `ftp://evil.example/`,
  `view-source:https://evil.example/`,
];
const STYLE = [
  `red; background: url(https://evil.example/)`,
  `#fff}*{display:none`,
  `expression(${CALL})`,
  `url("javascript:${CALL}")`,
  `var(--x); position: fixed`,
  `@import "https://evil.example/x.css";`,
];
const TEXT = [
  "\u202eevil\u202c",
  "\u2066\u202eevil",
  "\u202e\u202e\u202e",
  "a\u0300".repeat(80),
  "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f".repeat(12),
  "W".repeat(300),
  "\u0000\u0001\u001b[31m\u0007",
  "\ud800 lone",
  "\u2028\u2029",
  "line\n".repeat(12),
];

const ALONE = [...MARKUP, ...OUT_OF_ATTRIBUTES, ...ADDRESSES, ...STYLE, ...TEXT];
const doubled = (text: string): string => `<b>${text}</b>${text}`;

/** Each as it is, between other words, and doubled with markup around. */
export const ATTACKS: readonly string[] = ALONE.flatMap((text) => [
  text,
  `hello ${text} world`,
  doubled(text),
]);

/** Those of the attacks that take the most room: each has the words of two others. */
export const WIDEST: readonly string[] = ALONE.map(doubled);
