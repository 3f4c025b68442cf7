import "@/ui/styles.css";
import { i18n } from "@lingui/core";
import { I18nProvider } from "@lingui/react";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { type Account, accountQuery, newQueryClient, nonce } from "@/api";
import { listenToKeys } from "@/ui/shortcuts";
import { applyTheme } from "@/ui/theme";
import { activate, languageFor } from "./language";
import { router } from "./router";

setNonce(nonce); // for the style that keeps a page from scrolling under a dialog
applyTheme();
listenToKeys();

const queries = newQueryClient();

async function start() {
  const account: Account | undefined = await queries.fetchQuery(accountQuery).catch(() => undefined); // the page says what went wrong
  await activate(languageFor(account?.user.language));
  createRoot(document.getElementById("app") as HTMLElement).render(
    <StrictMode>
      <I18nProvider i18n={i18n}>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </I18nProvider>
    </StrictMode>,
  );
}

void start();
