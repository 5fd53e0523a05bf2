// A small lesson that keeps its place and reports a score. It finds the run-time's API as SCORM 1.2
// describes it: on a window above, or on the opener.
(function () {
  'use strict';

  function find(from) {
    for (var depth = 0; from && depth < 20; depth += 1) {
      try {
        if (from.API) { return from.API; }
      } catch (ignored) {
        return null;
      }
      if (from.parent === from) { break; }
      from = from.parent;
    }
    return null;
  }

  var api = find(window) || (window.opener && find(window.opener));
  var begun = Date.now();
  var pages = [
    { title: 'Finding a book in the library',
      text: 'Books in a library stand in order. A label on the back of each book, its call number, says where it stands.' },
    { title: 'Numbers first',
      text: 'Call numbers are read from the left. 398 stands before 500, and 500.2 stands before 500.9.' },
    { title: 'Which book stands first?', question: 'q1', right: 'b',
      answers: { a: '523.4', b: '398.2', c: '599' } },
    { title: 'Which book stands last?', question: 'q2', right: 'c',
      answers: { a: '500.2', b: '500.25', c: '500.9' } },
    { title: 'Well done', text: 'You can find any book now.', isEnd: true }
  ];
  var state = { page: 0, given: {} };

  function get(name) { return api ? String(api.LMSGetValue(name)) : ''; }
  function set(name, value) { if (api) { api.LMSSetValue(name, String(value)); } }

  function clock(ms) {
    var seconds = Math.floor(ms / 1000);
    function two(number) { return (number < 10 ? '0' : '') + number; }
    return two(Math.floor(seconds / 3600)) + ':' + two(Math.floor(seconds / 60) % 60) + ':' + two(seconds % 60);
  }

  function save() {
    set('cmi.suspend_data', JSON.stringify(state));
    set('cmi.core.lesson_location', state.page);
    set('cmi.core.session_time', clock(Date.now() - begun));
    if (api) { api.LMSCommit(''); }
  }

  function answered(page, given) {
    state.given[page.question] = given;
    var number = Object.keys(state.given).indexOf(page.question);
    var prefix = 'cmi.interactions.' + number + '.';
    set(prefix + 'id', page.question);
    set(prefix + 'type', 'choice');
    set(prefix + 'student_response', given);
    set(prefix + 'correct_responses.0.pattern', page.right);
    set(prefix + 'result', given === page.right ? 'correct' : 'wrong');
    save();
  }

  function score() {
    var questions = pages.filter(function (page) { return page.question; });
    var right = questions.filter(function (page) { return state.given[page.question] === page.right; });
    return Math.round(100 * right.length / questions.length);
  }

  function show() {
    var page = pages[state.page];
    var area = document.getElementById('page');
    document.getElementById('title').textContent = page.title;
    document.getElementById('place').textContent = (state.page + 1) + ' of ' + pages.length;
    document.getElementById('back').disabled = state.page === 0;
    document.getElementById('next').disabled = state.page === pages.length - 1;
    area.textContent = '';
    if (page.question) {
      var set_ = document.createElement('fieldset');
      var legend = document.createElement('legend');
      legend.textContent = 'Choose one';
      set_.appendChild(legend);
      Object.keys(page.answers).forEach(function (key) {
        var label = document.createElement('label');
        var input = document.createElement('input');
        input.type = 'radio';
        input.name = page.question;
        input.value = key;
        input.checked = state.given[page.question] === key;
        input.addEventListener('change', function () { answered(page, key); });
        label.appendChild(input);
        label.appendChild(document.createTextNode(' ' + page.answers[key]));
        set_.appendChild(label);
      });
      area.appendChild(set_);
    } else {
      var text = document.createElement('p');
      text.textContent = page.text;
      area.appendChild(text);
    }
    if (page.isEnd) {
      set('cmi.core.score.min', 0);
      set('cmi.core.score.max', 100);
      set('cmi.core.score.raw', score());
      set('cmi.core.lesson_status', score() >= 60 ? 'passed' : 'failed');
      save();
    }
  }

  function go(by) {
    state.page = Math.min(pages.length - 1, Math.max(0, state.page + by));
    save();
    show();
    document.getElementById('title').focus();
  }

  if (api) { api.LMSInitialize(''); }
  var kept = get('cmi.suspend_data');
  if (kept) {
    try { state = JSON.parse(kept); } catch (ignored) { state = { page: 0, given: {} }; }
  } else {
    set('cmi.core.lesson_status', 'incomplete');
  }
  var name = get('cmi.core.student_name');
  document.getElementById('learner').textContent = name;
  document.getElementById('back').addEventListener('click', function () { go(-1); });
  document.getElementById('next').addEventListener('click', function () { go(1); });
  var ended = false;
  window.addEventListener('pagehide', function () {
    if (ended || !api) { return; }
    ended = true;
    save();
    set('cmi.core.exit', get('cmi.core.lesson_status') === 'incomplete' ? 'suspend' : '');
    api.LMSFinish('');
  });
  show();
}());
