/**
 * A file that OBS opens in place of the overlay's URL. It waits for the service, which may start later than
 * OBS, and then goes to the overlay.
 */

const FILE_NAME = "overlay.html";
const RETRY_MS = 2000;

/** Gives the file to the user as a download. */
export function downloadFor(overlay: string): void {
  const url = URL.createObjectURL(new Blob([fileFor(overlay)], { type: "text/html" }));
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: FILE_NAME });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url));
}

function fileFor(overlay: string): string {
  const text = JSON.stringify(overlay).replaceAll("<", "\\u003c"); // no text can end the script
  return `<!doctype html>
<meta charset="utf-8">
<title>Chat overlay</title>
<style>html { background: transparent }</style>
<script>
const overlay = ${text};
function check() {
  fetch(overlay, { mode: "no-cors", cache: "no-store" }).then(
    () => location.replace(overlay),
    () => setTimeout(check, ${RETRY_MS}),
  );
}
check();
</script>
`;
}
