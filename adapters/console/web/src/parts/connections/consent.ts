import { useLingui } from "@lingui/react/macro";
import { useEffect, useState } from "react";
import { type Schemas, useTenant } from "@/api";
import { toast, toastError } from "@/ui";

/** What is waited for. Once its window is closed somebody may begin anew, and the outcome alone is looked for. */
type Waiting = { issuedBefore: string | undefined; until: string; opened: Window; isClosed: boolean };

const interval = 500; // milliseconds between two looks at the window

/** What an authorization server has given for a connection, and how a person consents to it, in a window of its own. */
export function useConsent(connection: Pick<Schemas["Connection"], "id" | "name">, onGiven?: () => void) {
  const { t } = useLingui();
  const { api, client } = useTenant();
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  const path = { params: { path: { id: connection.id } } };
  const { data: grant, error, refetch } = api.useQuery("get", "/connections/{id}/grant", path, { refetchInterval: waiting ? 1_500 : false });

  useEffect(() => {
    if (!waiting || !grant) return;
    if (grant.status === "active" && grant.issuedAt !== waiting.issuedBefore) {
      toast(t`${connection.name} is connected`);
      setWaiting(null);
      onGiven?.();
    }
  }, [grant, waiting, connection.name, onGiven, t]);

  // Who refuses changes nothing that is seen here: the end of the link ends the waiting.
  useEffect(() => {
    if (!waiting) return;
    const timer = setTimeout(() => setWaiting(null), new Date(waiting.until).getTime() - Date.now());
    return () => clearTimeout(timer);
  }, [waiting]);

  // Some authorization servers cut the tie to their window, which reads as closed then: what comes of it is found all the same.
  useEffect(() => {
    if (!waiting || waiting.isClosed) return;
    const timer = setInterval(async () => {
      if (!waiting.opened.closed) return;
      clearInterval(timer);
      await refetch();
      setWaiting((now) => (now === waiting ? { ...now, isClosed: true } : now));
    }, interval);
    return () => clearInterval(timer);
  }, [waiting, refetch]);

  const authorize = async () => {
    // The window is opened before the answer comes, since browsers stop what opens later. The page in it gets no hold of this one.
    const opened = window.open("about:blank", "_blank", "popup,width=720,height=800");
    if (opened) opened.opener = null;
    try {
      const { data: link } = await client.POST("/connections/{id}/authorize", path);
      if (!link?.url) throw new Error(t`The link was shown before. Try it again.`);
      if (!opened) throw new Error(t`The browser opened no window. Permit windows of this page, and try it again.`);
      setWaiting({ issuedBefore: grant?.issuedAt, until: link.expiresAt, opened, isClosed: false });
      opened.location.replace(link.url);
    } catch (failure) {
      opened?.close();
      toastError(failure);
    }
  };
  return { grant, error, refetch, authorize, isWaiting: waiting !== null && !waiting.isClosed, stop: () => setWaiting(null) };
}
