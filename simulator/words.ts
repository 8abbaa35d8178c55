/** The texts and prices of the generated chatters: pure data. */

/** Plain phrases in several scripts; some are longer than a line, two are written from right to left. */
export const PHRASES = [
  "hello everyone",
  "first time here, hi!",
  "LOL",
  "what a play",
  "W",
  "gg",
  "can someone explain what just happened",
  "greetings from Lisbon, it is four in the morning and I should be asleep but here we are again",
  "こんばんは、今日も楽しみにしてた",
  "草",
  "안녕하세요 오늘도 화이팅",
  "¡qué partido, no me lo creo!",
  "Привет из Казани",
  "मज़ा आ गया",
  "مرحبا من القاهرة",
  "שלום לכולם, איזה שידור",
  "สวัสดีครับ",
  "the audio is a bit quiet, is it only me?",
  "0:42 was the best part",
  "ｆｕｌｌ ｗｉｄｔｈ",
] as const;

/** Text that looks like markup, script or JSON: harmless if the reader escapes it, dangerous if not. */
export const TRAPS = [
  "</script><script>alert(1)</script>",
  'try {"a": [1, "}"]};',
  "};</script>",
  "<b>bold?</b> & <img src=x onerror=alert(1)>",
  "she said \"it's fine\" \\ and 'left'",
  "line one\nline two\nline three",
  "data: not an event\n\nid: 7",
  "tab\tand a separator\u2028here",
  "e\u0301 zwj 👩‍👩‍👧 flag 🇵🇹 rtl \u202eabc\u202c",
] as const;

export const STANDARD_EMOJI = [
  ["😂", ":face_with_tears_of_joy:"],
  ["❤️", ":red_heart:"],
  ["🔥", ":fire:"],
  ["👍🏽", ":thumbs_up_medium_skin_tone:"],
  ["🫶", ":heart_hands:"],
] as const;

export const CUSTOM_EMOJI = ["wave", "hype", "cozyTea", "gg_cup"] as const;

export const LINKS = [
  "https://example.org/schedule?day=sunday&zone=utc#top",
  "https://www.example.org/a/long/path/that/the/place/of/the/picture/has",
  "https://example.com/",
  "https://beispiel.example/straße",
] as const;

export const NAMES = [
  "luna",
  "kaito",
  "mia",
  "tomek",
  "omar",
  "noa",
  "piotr",
  "sofia",
  "yuki",
  "ravi",
  "zoe",
  "emil",
  "さくら",
  "하늘",
  "дима",
  "أمل",
  "nuno",
  "ines",
  "bo",
  "x",
] as const;

export const STICKERS = ["Fox claps with both paws", "Cup of tea steams", "Robot waves a flag"] as const;

export const CHARITIES = ["Clean Harbours", "Книги детям"] as const;

export const PRODUCTS = ["Enamel mug", "Poster, signed"] as const;

/** Gifts in jewels: name, picture name and price. */
export const GIFTS = [
  { name: "Sparkles", japanese: "きらめき", slug: "sparkles", price: 2 },
  { name: "Gold coin", japanese: "金貨", slug: "gold_coin", price: 10 },
  { name: "Shaved ice", japanese: "かき氷", slug: "shaved_ice", price: 25 },
  { name: "Confetti", japanese: "紙吹雪", slug: "confetti", price: 300 },
] as const;

export const LEVELS = ["Crew", "Captain", "星の会"] as const;

/** Names of channels in sentences of the upstream; some contain a number. */
export const CHANNELS = ["Simulated", "24/7 Lofi", "Studio 54"] as const;

export const QUESTIONS = ["Which map next?", "Wall or floor?", "もう一回?"] as const;

export const ANSWERS = [
  ["Harbour", "Desert"],
  ["wall", "floor"],
  ["yes", "no", "later", "ask again"],
] as const;

/**
 * The English format of an amount and its number of decimals; letter codes are followed by a no-break space.
 */
export const CURRENCIES = [
  { prefix: "$", decimals: 2, unit: 1 },
  { prefix: "€", decimals: 2, unit: 1 },
  { prefix: "£", decimals: 2, unit: 1 },
  { prefix: "¥", decimals: 0, unit: 100 },
  { prefix: "￥", decimals: 0, unit: 100 },
  { prefix: "₩", decimals: 0, unit: 1000 },
  { prefix: "₫", decimals: 0, unit: 20_000 },
  { prefix: "₹", decimals: 2, unit: 50 },
  { prefix: "₱", decimals: 2, unit: 50 },
  { prefix: "CA$", decimals: 2, unit: 1 },
  { prefix: "A$", decimals: 2, unit: 1 },
  { prefix: "NT$", decimals: 2, unit: 30 },
  { prefix: "MX$", decimals: 2, unit: 20 },
  { prefix: "R$", decimals: 2, unit: 5 },
  { prefix: "CZK\u00a0", decimals: 2, unit: 20 },
  { prefix: "PLN\u00a0", decimals: 2, unit: 4 },
  { prefix: "KWD\u00a0", decimals: 3, unit: 0.3 },
] as const;

/**
 * The seven colours of paid messages, cheapest first, with the minimum amount in dollars; colours are ARGB.
 */
export const TIERS = [
  { from: 1, seconds: 0, header: 0xff1565c0, body: 0xff1e88e5, text: 0xffffffff, author: 0xb3ffffff },
  { from: 2, seconds: 0, header: 0xff00b8d4, body: 0xff00e5ff, text: 0xff000000, author: 0xb3000000 },
  { from: 5, seconds: 120, header: 0xff00bfa5, body: 0xff1de9b6, text: 0xff000000, author: 0x8a000000 },
  { from: 10, seconds: 300, header: 0xffffb300, body: 0xffffca28, text: 0xdf000000, author: 0x8a000000 },
  { from: 20, seconds: 600, header: 0xffe65100, body: 0xfff57c00, text: 0xdfffffff, author: 0xb3ffffff },
  { from: 50, seconds: 1800, header: 0xffc2185b, body: 0xffe91e63, text: 0xffffffff, author: 0xb3ffffff },
  { from: 100, seconds: 3600, header: 0xffd00000, body: 0xffe62117, text: 0xffffffff, author: 0xb3ffffff },
] as const;
