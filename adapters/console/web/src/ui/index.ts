export { Badge, OnOff, type State, StateBadge } from "./badge";
export { Bars } from "./bars";
export { Button, buttonLook, IconButton } from "./button";
export { Combobox } from "./combobox";
export { Confirm } from "./confirm";
export { CopyButton, Identifier, ShownOnce } from "./copy";
export { Dialog, DialogButtons, FormDialog, ShownOnceDialog, Unreadable } from "./dialog";
export { ErrorBoundary, ErrorPanel } from "./error";
export type { Feature } from "./feature";
export { Figure, Figures } from "./figure";
export { CheckField, Field, FieldErrors, Form, inputLook, type Options, OptionsOf, SelectField, TextArea, TextField, textOf } from "./form";
export { GraceField } from "./grace";
export { keepNothing, kept } from "./kept";
export { languages } from "./languages";
export { Json } from "./lazyjson";
export { HasPage, Link } from "./link";
export {
  actionsColumn,
  buttonColumn,
  type Column,
  Filters,
  type Items,
  type ItemsQuery,
  List,
  OnOffFilter,
  SearchFilter,
  SelectFilter,
  Table,
} from "./list";
export { ListPage } from "./listpage";
export { Menu, MenuItem, MenuLabel, MenuLine } from "./menu";
export { Metadata, MetadataFields } from "./metadata";
export { bytes, duration, number, spanOf } from "./numbers";
export { Empty, Fact, Facts, MetadataFacts, Page, Section, Skeleton, UnreadPage } from "./page";
export { metadataPatch, type Pair, pairsOf } from "./pairs";
export { Scroll } from "./scroll";
export { type Parameters, pageOf, useSearchParameters } from "./search";
export { hasOwnUndo, useShortcut } from "./shortcuts";
export { relative, Time } from "./time";
export { attempt, toast, toastError } from "./toast";
