import "@/ui/styles.css";
import { i18n } from "@lingui/core";
import { I18nProvider } from "@lingui/react";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { nonce } from "@/api";
import { activate, languageFor } from "@/app/language";
import { keepNothing, languages } from "@/ui";
import { listenToKeys } from "@/ui/shortcuts";
import { Alone, Embedded } from "./Embedded";
import { newFrame } from "./frame";
import { meetHost } from "./host";

keepNothing();
setNonce(nonce);
listenToKeys();

const origins = document.querySelector<HTMLMetaElement>('meta[name="embed-origins"]')?.content.split(" ").filter(Boolean) ?? [];
const root = createRoot(document.getElementById("app") as HTMLElement);

const localeOf = (wanted: string | undefined) =>
  languageFor((Object.keys(languages) as (keyof typeof languages)[]).find((one) => one.slice(0, 2) === wanted?.slice(0, 2).toLowerCase()));

async function show(element: React.ReactNode, locale?: string) {
  await activate(localeOf(locale));
  root.render(
    <StrictMode>
      <I18nProvider i18n={i18n}>{element}</I18nProvider>
    </StrictMode>,
  );
}

const frame = newFrame();
meetHost(origins, (message, host) => {
  frame.hear(message, host);
  if (message.do === "open") void show(<Embedded frame={frame} />, message.locale);
});
if (parent === window || origins.length === 0) void show(<Alone isKnown={origins.length > 0} />);
