/** Where the console is, with a slash at the end: "/console/", or below the path of SLUICE_BASE_URL. The gateway writes it into the page. */
export const base = document.querySelector<HTMLMetaElement>('meta[name="console-base"]')?.content ?? "/console/";

/** What the page may style itself with under its policy. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[name="console-nonce"]')?.content ?? "";

/** Where somebody signs in, and comes back from to where they are now. */
export function signInAddress() {
  const here = location.pathname.slice(base.length - 1) + location.search;
  return `${base.slice(0, -1)}?next=${encodeURIComponent(here)}`;
}

/** The name of the event before somebody who is signed out is led to the sign-in. A page with work that is not saved prevents it, and asks itself. */
export const signedOut = "sluice-signed-out";

/** Leads to the sign-in, and from there back to where somebody is now. */
export function signIn() {
  if (dispatchEvent(new Event(signedOut, { cancelable: true }))) location.assign(signInAddress());
}
