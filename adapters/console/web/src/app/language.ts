import { i18n, type Messages } from "@lingui/core";
import { compileMessage } from "@lingui/message-utils/compileMessage";
import { type Account, accountClient } from "@/api";
import { languages } from "@/ui/languages";

export type Language = Account["user"]["language"];

const compiled = new Map<string, ReturnType<typeof compileMessage>>();

// English stands in the code, and is read the first time that it is shown.
i18n.setMessagesCompiler((text) => {
  const known = compiled.get(text) ?? compileMessage(text);
  compiled.set(text, known);
  return known;
});

// One chunk for each language, with the translations of all folders.
const catalogues: Record<Exclude<Language, "en">, () => Promise<{ default: Messages }>> = {
  "pt-BR": () => import("./messages.pt"),
  es: () => import("./messages.es"),
};

/** The language that a person chose; while it is not known who that is, that of the browser. */
export function languageFor(person: Language | undefined): Language {
  const ofBrowser = navigator.languages.map((wanted) => Object.keys(languages).find((one) => one.slice(0, 2) === wanted.slice(0, 2).toLowerCase()));
  return person ?? (ofBrowser.find(Boolean) as Language | undefined) ?? "en";
}

/** Shows the console in a language. */
export async function activate(language: Language) {
  i18n.loadAndActivate({ locale: language, messages: language === "en" ? {} : (await catalogues[language]()).default });
  document.documentElement.lang = language;
}

/** Shows the console in a language from now on, in every browser of the person. */
export async function chooseLanguage(language: Language) {
  await accountClient.PATCH("/session", { body: { language } });
  await activate(language);
}
