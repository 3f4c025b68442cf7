import { useLingui } from "@lingui/react/macro";
import { SelectField } from "./form";

type Props = { label: string; help?: string; defaultValue: "3600" | "86400" /** The longest that the gateway takes, in seconds. */; most: number };

/** For how long an old key or secret is still accepted once there is a new one, as `graceSeconds`. */
export function GraceField({ most, ...field }: Props) {
  const { t } = useLingui();
  const all = { 0: t`at once`, 900: t`in 15 minutes`, 3600: t`in an hour`, 86400: t`in a day`, 604800: t`in a week` };
  return (
    <SelectField name="graceSeconds" options={Object.fromEntries(Object.entries(all).filter(([seconds]) => Number(seconds) <= most))} {...field} />
  );
}
