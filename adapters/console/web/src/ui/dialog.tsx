import { useLingui } from "@lingui/react/macro";
import * as Radix from "@radix-ui/react-dialog";
import { X } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { Button, IconButton } from "./button";
import { ShownOnce } from "./copy";
import { Form } from "./form";

type Props = {
  title: ReactNode;
  description?: ReactNode;
  /** Without it, only what the dialog asks for ends it. */
  onClose?: () => void;
  /** Whether neither Escape nor a click outside the dialog closes it, as where something is shown once. */
  isSticky?: boolean;
  isWide?: boolean;
  children: ReactNode;
};

/** A window over the page. It has the focus until it is closed: not by a click outside a form, and not while its request runs. */
export function Dialog({ title, description, onClose, isSticky, isWide, children }: Props) {
  const { t } = useLingui();
  const content = useRef<HTMLDivElement>(null);
  const holds = (selector: string) => Boolean(content.current?.querySelector(selector));
  const isBusy = () => holds('button[aria-busy="true"]');
  return (
    <Radix.Root open onOpenChange={(open) => !open && !isBusy() && onClose?.()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[#0008]" />
        <Radix.Content
          ref={content}
          onInteractOutside={(event) => (isSticky || holds("form")) && event.preventDefault()}
          onEscapeKeyDown={(event) => (isSticky || holds("[data-open-list]")) && event.preventDefault()}
          onClickCapture={(event) => {
            if (!isBusy()) return;
            event.preventDefault(); // "Cancel" would take nothing back
            event.stopPropagation();
          }}
          className={`fixed top-[8vh] left-1/2 z-50 max-h-[84vh] w-[calc(100vw-2rem)] -translate-x-1/2 overflow-y-auto rounded-lg border border-line bg-raised p-5 shadow-xl ${isWide ? "max-w-3xl" : "max-w-lg"}`}
        >
          <div className="mb-4 flex items-start gap-2">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
              <Radix.Description className={description ? "mt-1 text-quiet" : "sr-only"}>{description ?? title}</Radix.Description>
            </div>
            {onClose && (
              <Radix.Close asChild>
                <IconButton label={t`Close`} icon={X} />
              </Radix.Close>
            )}
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** The buttons at the end of a dialog. */
export function DialogButtons({ children }: { children: ReactNode }) {
  return <div className="mt-2 flex flex-wrap justify-end gap-2">{children}</div>;
}

type FormDialogProps = Pick<Props, "title" | "description" | "isWide" | "children"> & {
  onClose: () => void;
  /** The request that the form makes, as a mutation gives it. */
  request: { error: unknown; isPending: boolean };
  onSubmit: (form: FormData) => void;
  /** What the button says that sends the form: "Create the key". */
  action: ReactNode;
  /** What the button says that closes it, where that is not "Cancel". */
  dismiss?: ReactNode;
  autoComplete?: "off";
};

/** What `onSubmit` throws about fields that cannot be read, so that nothing is sent. It is shown as the request's own error is. */
export class Unreadable extends Error {
  constructor(
    message: string,
    readonly fields: Record<string, string>,
  ) {
    super(message);
  }
}

/** A window with a form. */
export function FormDialog({ request, onSubmit, action, dismiss, autoComplete, children, ...dialog }: FormDialogProps) {
  const { t } = useLingui();
  const [unreadable, setUnreadable] = useState<Unreadable | null>(null);
  const submit = (form: FormData) => {
    setUnreadable(null);
    try {
      onSubmit(form);
    } catch (failure) {
      if (!(failure instanceof Unreadable)) throw failure;
      setUnreadable(failure);
    }
  };
  return (
    <Dialog {...dialog}>
      <Form error={unreadable ?? request.error} onSubmit={submit} autoComplete={autoComplete}>
        {children}
        <DialogButtons>
          <Button label={dismiss ?? t`Cancel`} onClick={dialog.onClose} />
          <Button type="submit" look="primary" label={action} isBusy={request.isPending} />
        </DialogButtons>
      </Form>
    </Dialog>
  );
}

type ShownOnceProps = Pick<Props, "description"> & { onClose: () => void; title: string; text: string; children?: ReactNode };

/** Shows a text that nobody can see again, such as a key, until somebody says that it was copied. */
export function ShownOnceDialog({ title, description, text, onClose, children }: ShownOnceProps) {
  const { t } = useLingui();
  return (
    <Dialog title={title} description={description} isSticky onClose={onClose}>
      <div className="flex flex-col gap-4">
        <ShownOnce label={title} text={text} />
        {children}
        <DialogButtons>
          <Button look="primary" label={t`I have copied it`} onClick={onClose} />
        </DialogButtons>
      </div>
    </Dialog>
  );
}
