//! Each kind of page looks like its committed screenshot in `docs/images`.
//!
//! If the fonts of the machine have other widths than those of the screenshots, lines break elsewhere. The pages are then drawn, but
//! not compared. `PASSNET_UPDATE_SCREENSHOTS=1` replaces the screenshots; look at the new ones before you commit them. The comparison
//! is coarse: another font passes, but a missing figure or an overflowing column fails.

use std::fs;

use crate::{
    browser::{PAGES, picture_name, site},
    devtools::{Browser, base64},
    root, runs,
};

/// Largest share of cells that may differ. Another page changes more than twice as many; fonts of other widths are not compared.
const TOLERANCE: f64 = 0.06;

/// Draws two pictures into 64 x 40 cells and returns the share of cells whose brightness differs by more than a tenth.
const DIFFERENCE: &str = r"Promise.all([LEFT, RIGHT].map(async (data) => {
  const image = new Image();
  image.src = `data:image/webp;base64,${data}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [64, 40];
  const context = canvas.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(image, 0, 0, 64, 40);
  return context.getImageData(0, 0, 64, 40).data;
})).then(([left, right]) => {
  const brightness = (data, at) => 0.3 * data[at] + 0.59 * data[at + 1] + 0.11 * data[at + 2];
  let different = 0;
  for (let at = 0; at < left.length; at += 4) {
    different += Math.abs(brightness(left, at) - brightness(right, at)) > 25.5;
  }
  return different / (left.length / 4);
})";

/// Width of a line in the fonts of the pages, in pixels. `docs/images/text-width` has that of the screenshots.
const WIDTH: &str = r"(() => {
  const context = document.createElement('canvas').getContext('2d');
  const width = (font) => { context.font = font; return context.measureText('Correct and faster: 0123456789').width; };
  return width('16px system-ui, sans-serif') + width('16px ui-monospace, monospace');
})()";
/// Share by which the width may differ.
const SAME_FONTS: f64 = 0.01;

fn difference(browser: &mut Browser, left: &str, right: &str) -> f64 {
    let expression = DIFFERENCE.replace("LEFT", &format!("'{left}'")).replace("RIGHT", &format!("'{right}'"));
    browser.evaluate(&expression).as_f64().unwrap()
}

/// Base64 of bytes.
fn encoded(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |group: &[u8]| {
        let word = (0..3).fold(0_usize, |word, at| word << 8 | usize::from(*group.get(at).unwrap_or(&0)));
        let length = group.len();
        (0..4).map(move |at| if at <= length { char::from(DIGITS[word >> (18 - 6 * at) & 63]) } else { '=' })
    };
    bytes.chunks(3).flat_map(digits).collect()
}

#[test]
fn pages_look_like_their_screenshots() {
    let Some(mut browser) = Browser::start() else { return };
    let runs = runs();
    let site = site(&runs);
    let images = root().join("docs/images");
    let update = std::env::var_os("PASSNET_UPDATE_SCREENSHOTS").is_some();
    let (mut changed, mut taken) = (Vec::new(), Vec::new());
    browser.look(1280, false);
    browser.open("about:blank");
    let width = browser.evaluate(WIDTH).as_f64().unwrap();
    if update {
        fs::write(images.join("text-width"), format!("{width}\n")).unwrap();
    }
    let theirs: f64 = fs::read_to_string(images.join("text-width")).unwrap().trim().parse().unwrap();
    let is_comparable = (width / theirs - 1.0).abs() < SAME_FONTS;
    for page in PAGES {
        assert!(browser.open(&format!("file://{}", site.join(page).display())).is_empty());
        let picture = browser.screenshot();
        let name = format!("{}.webp", picture_name(page));
        if update {
            fs::write(images.join(&name), base64(&picture)).unwrap();
        }
        let committed = encoded(&fs::read(images.join(&name)).unwrap_or_else(|error| panic!("{name}: {error}")));
        browser.open("about:blank");
        let difference = difference(&mut browser, &picture, &committed);
        if difference > TOLERANCE {
            changed.push(format!("{name}: {:.0} % of the cells differ", 100.0 * difference));
        }
        taken.push(picture);
    }
    // The comparison tells pages from each other: of all pairs, the two pages that are least alike.
    let mut others: f64 = 0.0;
    for (index, left) in taken.iter().enumerate() {
        for right in &taken[index + 1..] {
            others = others.max(difference(&mut browser, left, right));
        }
    }
    assert!(others > 2.0 * TOLERANCE, "{others}");
    if !is_comparable {
        eprintln!("skipped: the fonts here set text {width} pixels wide, those of the screenshots {theirs}");
        return;
    }
    assert!(changed.is_empty(), "{changed:#?}; PASSNET_UPDATE_SCREENSHOTS=1 replaces the screenshots");
}

#[test]
fn no_page_is_heavy() {
    let runs = runs();
    let mut folders = vec![site(&runs)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::metadata(&path).unwrap().len();
                assert!(bytes <= 300_000, "{}: {bytes} bytes", path.display());
            }
        }
    }
}
