import { useLingui } from "@lingui/react/macro";
import type { FieldSchema } from "@/parts";
import { buttonLook, inputLook } from "@/ui";
import { kindOf, optionsIn } from "./form";

type Props = { config: Record<string, unknown>; fields: [name: string, field: FieldSchema][] };

/** How the page for answers shows the question. It is a picture of it: nothing can be typed there. */
export function AnswerPreview({ config, fields }: Props) {
  const { t } = useLingui();
  const text = (member: string) => (typeof config[member] === "string" ? config[member] : "");
  const isYesNo = fields.length === 0 && config.inputType === "boolean";
  const single: FieldSchema = { type: config.inputType === "number" ? "number" : "string", required: config.required === true };
  const shown: [string, FieldSchema][] = fields.length > 0 ? fields : [[t`Your answer`, single]];
  return (
    <section aria-label={t`Preview`} className="flex flex-col gap-1">
      <h3 className="font-medium">{t`Preview`}</h3>
      <div inert className="flex flex-col gap-3 rounded-md border border-line bg-bg p-3">
        <p className="text-base leading-5 font-semibold break-words">{text("title") || t`A question for you`}</p>
        {text("prompt") && <p className="break-words whitespace-pre-wrap">{text("prompt")}</p>}
        {isYesNo ? (
          <div className="flex gap-2">
            <Press text={t`Yes`} />
            <Press text={t`No`} />
          </div>
        ) : (
          <>
            {shown.map(([name, field]) => (
              <div key={name} className="flex flex-col gap-1">
                <span className="font-medium break-words">
                  {field.title || name} {field.required && <span className="font-normal text-quiet">({t`required`})</span>}
                </span>
                {field.description && <span className="text-xs break-words text-quiet">{field.description}</span>}
                <Control field={field} isLine={fields.length === 0 && config.inputType !== undefined && config.inputType !== "text"} />
              </div>
            ))}
            <Press text={t`Send answer`} />
          </>
        )}
      </div>
    </section>
  );
}

const Press = ({ text }: { text: string }) => <span className={`${buttonLook("primary")} self-start`}>{text}</span>;

function Control({ field, isLine }: { field: FieldSchema; isLine: boolean }) {
  const { t } = useLingui();
  const kind = kindOf(field);
  const { placeholder, default: usual } = field;
  const value = usual === undefined ? "" : typeof usual === "string" ? usual : JSON.stringify(usual);
  if (kind === "yesno" || kind === "choice") {
    const options = kind === "yesno" ? [t`Yes`, t`No`] : optionsIn(field).map(({ value, label }) => label || String(value));
    return (
      <ul className="rounded-md border border-strong-line bg-panel px-2.5 py-1.5">
        <li className="text-quiet">{t`Choose…`}</li>
        {options.map((option, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two may be called the same
          <li key={at} className="break-words">
            {option}
          </li>
        ))}
      </ul>
    );
  }
  const shared = { className: inputLook, placeholder, value, readOnly: true };
  return kind === "long" && !isLine ? <textarea rows={3} {...shared} /> : <input {...shared} />;
}
