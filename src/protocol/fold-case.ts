/**
 * The form in which texts are searched: texts that people take for the same one have the same form, whatever
 * their case and however their characters are composed.
 */

const OTHER_THAN_ASCII = /[^\0-\x7f]/;
/**
 * Lower-case letters that are a second form of another one, such as the ς at the end of a Greek word. Their
 * capital has the usual small letter.
 */
const SECOND_FORMS = /[\u0345ς\u1c80-\u1c88]/g;
/**
 * More marks on one letter than any language has. The time to sort them grows with the square of their
 * number, so in a long text the others do not count.
 */
const MANY_MARKS = /(\p{M}{30})\p{M}+/gu;
const LONG = 1000;
/** What lower case makes of the dotted capital İ. */
const DOTTED_I = "i\u0307";

/**
 * The text with simple case folding (İ is i, but ß is not ss), in the Unicode form NFKC: full-width letters
 * are plain ones, and an É is one character. Accents stay: é is not e.
 */
export function foldCase(text: string): string {
  if (!OTHER_THAN_ASCII.test(text)) return text.toLowerCase();
  const bounded = text.length > LONG ? text.replace(MANY_MARKS, "$1") : text;
  const small = bounded.normalize("NFKC").toLowerCase();
  const plain = small.replace(SECOND_FORMS, (letter) => letter.toUpperCase().toLowerCase());
  return plain.replaceAll(DOTTED_I, "i").normalize("NFKC");
}
