/** The languages that there are, by the names that they have for themselves. */
export const languages = { en: "English", "pt-BR": "Português", es: "Español" };
