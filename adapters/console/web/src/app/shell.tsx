import { Trans, useLingui } from "@lingui/react/macro";
import { Link, useNavigate, useParams, useRouterState } from "@tanstack/react-router";
import { Building2, ChevronsUpDown, CircleUser, Command, Menu as MenuIcon, X } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { ApiError, accountClient, base, reaches, useAccount, useLiveState } from "@/api";
import { Button, ErrorBoundary, type Feature, IconButton, Menu, MenuItem, MenuLabel, MenuLine, toastError, useShortcut } from "@/ui";
import { languages } from "@/ui/languages";
import { setTheme, type Theme, useTheme } from "@/ui/theme";
import { Toasts } from "@/ui/toast";
import { entries } from "./features";
import { chooseLanguage, type Language } from "./language";

const Palette = lazy(() => import("./palette"));
const Help = lazy(() => import("./help"));

/** The frame around pages: navigation, account, palette, notices. */
export function Shell({ of, children }: { of: Feature["of"]; children: ReactNode }) {
  const { t } = useLingui();
  const [opened, setOpened] = useState<"palette" | "help" | "navigation" | null>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const lastPath = useRef(path);
  useEffect(() => {
    if (lastPath.current === path) return;
    lastPath.current = path;
    setOpened(null);
    main.current?.focus({ preventScroll: true }); // who cannot see it hears that the page is another one
  }, [path]);
  useShortcut({ keys: "mod+k", label: t`Find and do`, run: () => setOpened("palette") });
  useShortcut({ keys: "?", label: t`Show the shortcuts`, run: () => setOpened("help") });
  useShortcut({ keys: "/", label: t`Search the list`, run: () => document.querySelector<HTMLElement>("[data-search]")?.focus() });
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a href="#main" className="sr-only z-60 rounded bg-accent p-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2">
        {t`To the content`}
      </a>
      <header className="sticky top-0 z-30 flex shrink-0 flex-col border-line bg-panel max-md:border-b md:h-dvh md:w-60 md:border-r">
        <div className="flex items-center gap-2 p-3">
          <Logo />
          <Switcher of={of} />
          <IconButton
            label={opened === "navigation" ? t`Close the navigation` : t`Open the navigation`}
            aria-expanded={opened === "navigation"}
            icon={opened === "navigation" ? X : MenuIcon}
            className="ml-auto md:hidden"
            onClick={() => setOpened(opened === "navigation" ? null : "navigation")}
          />
        </div>
        <div className={`min-h-0 flex-1 flex-col overflow-y-auto ${opened === "navigation" ? "flex max-md:max-h-[80dvh]" : "hidden md:flex"}`}>
          <div className="px-3 pb-2">
            <Button
              icon={Command}
              label={
                <>
                  <span className="flex-1 text-left">{t`Find and do`}</span>
                  <kbd className="text-xs">Ctrl K</kbd>
                </>
              }
              className="w-full justify-start !text-quiet"
              onClick={() => setOpened("palette")}
            />
          </div>
          <Navigation of={of} />
          <div className="mt-auto border-t border-line p-3">
            {of === "tenant" && <LiveState />}
            <AccountMenu onHelp={() => setOpened("help")} />
          </div>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1} className="min-w-0 flex-1 outline-none">
        <ErrorBoundary key={path}>{children}</ErrorBoundary>
      </main>
      <Toasts />
      <Suspense>
        {opened === "palette" && <Palette of={of} onClose={() => setOpened(null)} />}
        {opened === "help" && <Help onClose={() => setOpened(null)} />}
      </Suspense>
    </div>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" role="img" aria-label="Sluice" className="size-7 shrink-0">
      <rect width="32" height="32" rx="7" fill="#1f9d9a" />
      <path d="M8 6v20M24 6v20" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
      <path d="M11.5 8h9v8h-9z" fill="#fff" />
      <path d="M11.5 20.5q2.25-2 4.500 0t4.500 0M11.5 25q2.25-2 4.500 0t4.500 0" fill="none" stroke="#fff" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}

/** The tenants of a person, and the operator's part. */
function Switcher({ of }: { of: Feature["of"] }) {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { memberships, user } = useAccount();
  const { tenantId } = useParams({ strict: false }) as { tenantId?: string };
  const current = memberships.find((one) => one.tenantId === tenantId);
  const name = of === "operator" ? t`Operator` : of === "account" ? t`Account` : (current?.tenantName ?? "");
  return (
    <Menu
      label={t`Tenant`}
      trigger={
        <button
          type="button"
          aria-label={t`Tenant: ${name}`}
          className="flex min-w-0 flex-1 items-center gap-1 rounded-md px-1.5 py-1 font-semibold hover:bg-hover"
        >
          <span className="truncate">{name}</span>
          <ChevronsUpDown aria-hidden className="ml-auto size-4 shrink-0 text-quiet" />
        </button>
      }
    >
      {memberships.map((one) => (
        <MenuItem key={one.tenantId} icon={Building2} label={one.tenantName} onSelect={() => void navigate({ to: `/t/${one.tenantId}` })} />
      ))}
      {user.isOperator && (
        <>
          <MenuLine />
          <MenuItem label={t`Operator`} onSelect={() => void navigate({ to: "/operator" })} />
        </>
      )}
    </Menu>
  );
}

/** Where the pages of a part of the console begin. */
export function prefixOf(of: Feature["of"], tenantId: string | undefined): string {
  return of === "tenant" ? `/t/${tenantId}` : `/${of}`;
}

/** The entries that somebody may see, with their addresses. */
export function useEntries(of: Feature["of"]) {
  const { i18n } = useLingui();
  const { tenantId } = useParams({ strict: false }) as { tenantId?: string };
  const role = useAccount().memberships.find((one) => one.tenantId === tenantId)?.role ?? "viewer";
  const prefix = prefixOf(of, tenantId);
  return entries(of)
    .filter((entry) => !entry.role || reaches(role, entry.role))
    .map((entry) => ({ ...entry, label: i18n._(entry.label), to: entry.path ? `${prefix}/${entry.path}` : prefix }));
}

function Navigation({ of }: { of: Feature["of"] }) {
  const { t } = useLingui();
  const all = useEntries(of);
  const groups: [Exclude<Feature["nav"], undefined>["group"], string][] = [
    ["watch", t`Watch`],
    ["build", t`Build`],
    ["connect", t`Connect`],
    ["manage", t`Manage`],
  ];
  return (
    <nav aria-label={t`Pages`} className="flex flex-col gap-3 px-3 py-1">
      {groups.map(([group, label]) => {
        const shown = all.filter((entry) => entry.group === group);
        if (shown.length === 0) return null;
        return (
          <div key={group}>
            <p className="px-2 py-0.5 text-xs text-quiet">{label}</p>
            <ul>
              {shown.map((entry) => (
                <li key={entry.to}>
                  <NavigationEntry {...entry} letter={entry.key} />
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}

function NavigationEntry({ to, label, icon: Icon, path, letter }: ReturnType<typeof useEntries>[number] & { letter?: string }) {
  const navigate = useNavigate();
  useShortcut(letter ? { keys: `g ${letter}`, label, run: () => void navigate({ to }) } : undefined);
  return (
    <Link
      to={to}
      activeOptions={{ exact: path === "", includeSearch: false }}
      activeProps={{ className: "bg-hover font-medium", "aria-current": "page" }}
      className="flex items-center gap-2 rounded-md px-2 py-1 hover:bg-hover"
    >
      <Icon aria-hidden className="size-4 shrink-0 text-quiet" />
      <span className="truncate">{label}</span>
    </Link>
  );
}

/** Says when what is shown may be old. */
function LiveState() {
  const state = useLiveState();
  const isBroken = state === "waiting" || state === "ended";
  return (
    <p role="status" className={isBroken ? "mb-2 rounded bg-hover px-2 py-1 text-warn" : "sr-only"}>
      {isBroken && <Trans>The gateway does not answer. What is shown may be old.</Trans>}
    </p>
  );
}

function AccountMenu({ onHelp }: { onHelp: () => void }) {
  const { t, i18n } = useLingui();
  const navigate = useNavigate();
  const { user } = useAccount();
  const theme = useTheme();
  const themes: [Theme, string][] = [
    ["system", t`As the system`],
    ["light", t`Light`],
    ["dark", t`Dark`],
  ];
  const signOut = async () => {
    try {
      await accountClient.DELETE("/session");
    } catch (failure) {
      if (!(failure instanceof ApiError && failure.code === "signed_out")) return toastError(failure);
    }
    location.assign(base.slice(0, -1)); // whoever comes next begins at the beginning
  };
  return (
    <Menu
      label={t`Account`}
      trigger={
        <button
          type="button"
          aria-label={t`Account: ${user.name || user.email}`}
          className="flex w-full items-center gap-2 rounded-md px-2 py-1 hover:bg-hover"
        >
          <CircleUser aria-hidden className="size-4 shrink-0 text-quiet" />
          <span className="truncate">{user.name || user.email}</span>
        </button>
      }
    >
      <MenuItem label={t`Your account`} onSelect={() => void navigate({ to: "/account" })} />
      <MenuItem label={t`Shortcuts`} onSelect={onHelp} />
      <MenuLine />
      <MenuLabel>{t`Appearance`}</MenuLabel>
      {themes.map(([value, label]) => (
        <MenuItem key={value} label={label} isChecked={theme === value} onSelect={() => setTheme(value)} />
      ))}
      <MenuLine />
      <MenuLabel>{t`Language`}</MenuLabel>
      {Object.entries(languages).map(([value, label]) => (
        <MenuItem
          key={value}
          label={<span lang={value}>{label}</span>}
          isChecked={i18n.locale === value}
          onSelect={() => void chooseLanguage(value as Language).catch(toastError)}
        />
      ))}
      <MenuLine />
      <MenuItem label={t`Sign out`} onSelect={() => void signOut()} />
    </Menu>
  );
}
