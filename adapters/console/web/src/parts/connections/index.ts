export { ConnectionField } from "./ConnectionField";
export { ConnectionForm } from "./ConnectionForm";
export { Consent } from "./Consent";
export { isNamed, isOAuth, redacted, shownMember } from "./secret";
export { kindWords, memberWords } from "./words";
