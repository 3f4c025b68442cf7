import { i18n, type Messages } from "@lingui/core";
import { compileMessage } from "@lingui/message-utils/compileMessage";

export const languages = { en: "English", pt: "Português", es: "Español" } as const;
export type Language = keyof typeof languages;

const key = "sluice-language";

const compiled = new Map<string, ReturnType<typeof compileMessage>>();

// English stands in the code, and is read the first time that it is shown.
i18n.setMessagesCompiler((text) => {
  const known = compiled.get(text) ?? compileMessage(text);
  compiled.set(text, known);
  return known;
});

// One chunk for each language, with the translations of all folders.
const catalogues: Record<Exclude<Language, "en">, () => Promise<{ default: Messages }>> = {
  pt: () => import("./messages.pt"),
  es: () => import("./messages.es"),
};

const isLanguage = (text: string): text is Language => text in languages;

/** The language that somebody chose in this browser; else that of the account, or of the browser. */
export function languageFor(account: string | undefined): Language {
  for (const wanted of [localStorage.getItem(key), account, ...navigator.languages]) {
    const short = wanted?.slice(0, 2).toLowerCase() ?? "";
    if (isLanguage(short)) return short;
  }
  return "en";
}

/** Shows the console in a language. */
export async function activate(language: Language) {
  i18n.loadAndActivate({ locale: language, messages: language === "en" ? {} : (await catalogues[language]()).default });
  document.documentElement.lang = language === "pt" ? "pt-BR" : language;
}

export async function chooseLanguage(language: Language) {
  localStorage.setItem(key, language);
  await activate(language);
}
