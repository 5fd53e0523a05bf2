// What the pages say, in each language.

const english = {
  contents: "Contents",
  showContents: "Contents",
  next: "Next",
  previous: "Previous",
  exit: "Exit",
  saved: "Saved at {time}",
  saving: "Saving…",
  unsaved: "Not saved yet: the server cannot be reached. Keep this page open.",
  expired: "Nothing more can be saved: this launch has ended. Open the course again.",
  refused: "The server did not accept the last change.",
  elsewhere: "This course was opened again later, in another window or place, and what was set there counts. Go on there.",
  lost: "Something from an earlier visit could no longer be saved. What you do now is saved.",
  notRecorded: "Preview: nothing is recorded.",
  review: "Review: your result does not change.",
  ended: "You have left the course",
  endedHelp: "What you did is saved. You can close this page.",
  endedUnsaved: "Some of your work is not saved yet. Keep this page open until it says so.",
  choose: "Choose an activity from the contents.",
  loading: "The course is loading…",
  noLaunch: "This course cannot be opened",
  noLaunchHelp: "The link may have expired. Go back to where you found it and open it again.",
  content: "Course content: {title}",
  current: "now open",
  done: "done",
  passed: "passed",
  failed: "failed",
  begun: "begun",
  untouched: "not begun",
  finish: "Mark as finished",
  finished: "Finished",
  open: "Open in a new window",
  progress: "{percent} % seen",
  cannotGo: "The course does not allow this step now.",
  noMedia: "This file cannot be played here.",
};

/** The texts of one language. */
export type Words = typeof english;

const spanish: Words = {
  contents: "Contenido",
  showContents: "Contenido",
  next: "Siguiente",
  previous: "Anterior",
  exit: "Salir",
  saved: "Guardado a las {time}",
  saving: "Guardando…",
  unsaved: "Aún no se ha guardado: no hay conexión con el servidor. Mantenga abierta esta página.",
  expired: "Ya no se puede guardar: esta sesión ha terminado. Vuelva a abrir el curso.",
  refused: "El servidor no aceptó el último cambio.",
  elsewhere: "Este curso se abrió después en otra ventana o en otro lugar, y vale lo que se hizo allí. Continúe allí.",
  lost: "Algo de una visita anterior ya no se pudo guardar. Lo que haga ahora se guarda.",
  notRecorded: "Vista previa: no se registra nada.",
  review: "Repaso: su resultado no cambia.",
  ended: "Ha salido del curso",
  endedHelp: "Su trabajo está guardado. Puede cerrar esta página.",
  endedUnsaved: "Parte de su trabajo aún no está guardada. Mantenga abierta esta página hasta que lo esté.",
  choose: "Elija una actividad del contenido.",
  loading: "El curso se está cargando…",
  noLaunch: "No se puede abrir este curso",
  noLaunchHelp: "Puede que el enlace haya caducado. Vuelva a donde lo encontró y ábralo de nuevo.",
  content: "Contenido del curso: {title}",
  current: "abierta ahora",
  done: "terminada",
  passed: "aprobada",
  failed: "no aprobada",
  begun: "empezada",
  untouched: "sin empezar",
  finish: "Marcar como terminada",
  finished: "Terminada",
  open: "Abrir en otra ventana",
  progress: "{percent} % visto",
  cannotGo: "El curso no permite este paso ahora.",
  noMedia: "Este archivo no se puede reproducir aquí.",
};

/** The language to speak: that of the launch, else the browser's; English where neither is known. */
export function language(culture: string | undefined, browser: readonly string[]): "en" | "es" {
  const wanted = [culture ?? "", ...browser];
  const known = wanted.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag === "en" || tag === "es");
  return known === "es" ? "es" : "en";
}

/** The texts of a language. */
export function words(tag: "en" | "es"): Words {
  return tag === "es" ? spanish : english;
}

/** A text with its `{name}`s replaced. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
