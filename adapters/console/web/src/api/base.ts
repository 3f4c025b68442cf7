/** Where the console is, with a slash at the end: "/console/", or below the path of SLUICE_BASE_URL. The gateway writes it into the page. */
export const base = document.querySelector<HTMLMetaElement>('meta[name="console-base"]')?.content ?? "/console/";

/** What the page may style itself with under its policy. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name="console-nonce"]')?.content ?? "";

/** Leads to the sign-in, and from there back to where somebody is now. */
export function signIn() {
  const here = location.pathname.slice(base.length - 1) + location.search;
  location.assign(`${base.slice(0, -1)}?next=${encodeURIComponent(here)}`);
}
