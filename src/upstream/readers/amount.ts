/**
 * Reads amounts of money from texts, without guessing: anything ambiguous is null. The upstream writes in the
 * requested language (`¥1,000`, `CZK 20.00`), but formats of other languages (`1.234,56 €`) occur too.
 */
import type { Details } from "../../protocol/kinds.ts";

type Amount = NonNullable<Details["amount"]>;

const MAX_LENGTH = 100;

/** `$` and `¥` have their meaning in the upstream's default language. `kr`, `Rs` and more are ambiguous. */
const CURRENCIES: ReadonlyMap<string, string> = new Map([
  ["$", "USD"],
  ["US$", "USD"],
  ["CA$", "CAD"],
  ["A$", "AUD"],
  ["AU$", "AUD"],
  ["NZ$", "NZD"],
  ["NT$", "TWD"],
  ["HK$", "HKD"],
  ["S$", "SGD"],
  ["MX$", "MXN"],
  ["R$", "BRL"],
  ["€", "EUR"],
  ["£", "GBP"],
  ["¥", "JPY"],
  ["CN¥", "CNY"],
  ["₩", "KRW"],
  ["₹", "INR"],
  ["₱", "PHP"],
  ["₪", "ILS"],
  ["₫", "VND"],
  ["₽", "RUB"],
  ["₺", "TRY"],
  ["₴", "UAH"],
  ["₦", "NGN"],
  ["₲", "PYG"],
  ["₡", "CRC"],
  ["₸", "KZT"],
  ["฿", "THB"],
  ["zł", "PLN"],
  ["Kč", "CZK"],
  ["Ft", "HUF"],
]);
const LETTER_CODES: ReadonlySet<string> = new Set(Intl.supportedValuesOf("currency"));
/** The only currencies in which three digits after the separator can be a fraction. */
const THREE_DECIMALS: ReadonlySet<string> = new Set(["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]);

/**
 * The value and ISO 4217 code of an amount such as `$5.00`, `NT$150.00`, `₹1,00,000.00`, `1.234,56 €`.
 * `isEnglish`: whether the amount is certainly in English, where a point precedes decimals.
 */
export function readAmount(text: string, isEnglish: boolean): Amount {
  // NFKC turns the full-width yen into a yen, and every no-break space into a space. Direction marks are
  // invisible.
  const plain = text
    .slice(0, MAX_LENGTH + 1)
    .normalize("NFKC")
    .replaceAll(/\p{Cf}/gu, "");
  const match = /^([^\d]*)(\d(?:[\d.,'’ ]*\d)?)([^\d]*)$/u.exec(plain);
  if (!match || plain.length > MAX_LENGTH) return { value: null, currency: null };
  const [, before = "", digits = "", after = ""] = match;
  const currency = currencyOf(`${before}${after}`.trim());
  const isSigned = /[-−+<>]/.test(before + after);
  return { value: isSigned ? null : numberOf(digits, currency, isEnglish), currency };
}

function currencyOf(sign: string): string | null {
  return CURRENCIES.get(sign) ?? (LETTER_CODES.has(sign) ? sign : null);
}

const PLAIN = /^\d{1,15}$/;
/** Groups of three digits, or of two with a last one of three as in India. */
const GROUPED = /^[1-9]\d{0,2}([.,'’ ])\d{3}(?:\1\d{3}){0,4}$|^[1-9]\d?(?:,\d{2}){1,5},\d{3}$/;
/**
 * A text with two readings: `1.000` means a thousand in one language, and one with three decimals in another.
 */
const TWO_READINGS = /^[1-9]\d{0,2}[.,]\d{3}$/;

function numberOf(digits: string, currency: string | null, isEnglish: boolean): number | null {
  const threeDecimals = currency !== null && THREE_DECIMALS.has(currency);
  const hasPoint = digits.includes(".");
  if (TWO_READINGS.test(digits)) {
    if (threeDecimals ? !isEnglish : currency === null && hasPoint) return null;
    if (threeDecimals && hasPoint) return Number(digits);
  }
  if (PLAIN.test(digits) || GROUPED.test(digits)) return Number(digits.replaceAll(/\D/g, ""));

  const [, whole = "", mark = "", fraction = ""] = /^(.+)([.,])(\d{1,3})$/.exec(digits) ?? [];
  if (whole.includes(mark) || !(PLAIN.test(whole) || GROUPED.test(whole))) return null;
  if (fraction.length === 3 && !threeDecimals) return null;
  return Number(`${whole.replaceAll(/\D/g, "")}.${fraction}`);
}
