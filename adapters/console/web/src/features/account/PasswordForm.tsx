import { useLingui } from "@lingui/react/macro";
import { useState } from "react";
import { accountApi, useAccount } from "@/api";
import { Button, Form, TextField, toast } from "@/ui";

/** Sets another password, which ends all other sessions. */
export function PasswordForm({ onDone }: { onDone: () => unknown }) {
  const { t } = useLingui();
  const { user } = useAccount();
  const [times, setTimes] = useState(0);
  const { mutate, error, isPending } = accountApi.useMutation("post", "/password", {
    onSuccess: () => {
      setTimes(times + 1); // an empty form
      toast(t`The password was changed, and all other sessions have ended`);
      void onDone();
    },
  });
  return (
    <div className="max-w-lg rounded-lg border border-line bg-panel p-4">
      <Form
        key={times}
        error={error}
        onSubmit={(form) => mutate({ body: { current: String(form.get("current") ?? ""), new: String(form.get("new") ?? "") } })}
      >
        <input type="hidden" name="username" autoComplete="username" value={user.email} readOnly />
        <TextField name="current" label={t`Current password`} type="password" autoComplete="current-password" />
        <TextField
          name="new"
          label={t`New password`}
          type="password"
          autoComplete="new-password"
          help={t`At least 12 characters. All other sessions end.`}
        />
        <Button type="submit" label={t`Change the password`} className="self-start" isBusy={isPending} />
      </Form>
    </div>
  );
}
